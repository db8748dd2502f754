package remote

import (
	"testing"

	"brainbox/internal/supervise"
	"brainbox/internal/watch"
)

// What is code stays where it is: a spawner would start the program with nobody to answer.
func TestAWatchIsNotSent(t *testing.T) {
	s := &Spawner{}
	if _, err := s.begin(&supervise.Job{Watch: &watch.Watch{}}); err == nil {
		t.Error("a job with a watch was sent")
	}
}

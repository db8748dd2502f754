// Command agent is what the example's host starts: it stands for the program that a model
// drives. It uses package bridge/client alone, and has no other way to change anything.
//
//	backend PROJECT agent
//
// It asks a question, edits a file with what it was answered, and then tries what it may
// not. The status is 0 if each went as the host promises.
//
// # Limits
//
// It gives up at the first thing that goes otherwise. A real one reads the code and the
// message of a result that is no success, and goes on.
package main

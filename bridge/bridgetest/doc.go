// Package bridgetest has a host for the tests of clients: a socket that says hello, offers
// tools and answers calls as the test says.
//
//	host := bridgetest.Start(t, &bridgetest.Host{Tools: []string{"read_file"}, Call: func(ctx context.Context, r *envelope.Request) *envelope.Result {
//		return r.Succeed(&r.Input)
//	}})
//	c, err := client.Open(ctx, client.Options{Socket: host.Socket})
//
// # Limits
//
// It decides nothing and limits nothing, and reads what a client sends as strictly as
// package wire does. It is for tests only.
package bridgetest

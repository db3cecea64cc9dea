package faultnet_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/faultproxy"
)

// If the machine is too slow for the call's time limit, Silence repeats the trial with more time,
// and still tries each step.
func TestSilenceOnABusyMachine(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	// The keys are numbers of answers. A key means that a trial was cut after the server had sent that number of
	// answers.
	cut := map[int]bool{}
	faultnet.Silence(t, 2, func() (*faultproxy.Proxy, func(context.Context) error, func()) {
		proxy, err := faultproxy.New(listener.Addr().String())
		require.NoError(t, err)
		answers := 0
		call := func(ctx context.Context) error {
			select {
			case <-time.After(250 * time.Millisecond): // longer than callLimit
			case <-ctx.Done():
				return fmt.Errorf("begin: %w", ctx.Err())
			}
			conn, err := net.Dial("tcp", proxy.Addr())
			if err != nil {
				return err
			}
			defer conn.Close()
			deadline, _ := ctx.Deadline()
			if err := conn.SetDeadline(deadline); err != nil {
				return err
			}
			for range 3 {
				if _, err := conn.Write([]byte{1}); err != nil {
					return err
				}
				if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
					return err
				}
				answers++
			}
			return nil
		}
		return proxy, call, func() {
			cut[answers] = true
			proxy.Close()
		}
	})
	for answers := range 4 {
		require.True(t, cut[answers], "a call that ends after %d of 3 answers was not tried: %v", answers, cut)
	}
}

package main

import (
	"context"
	"regexp"
	"time"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/internal/faultproxy"
)

// cut measures what happens when the network between the holder and its servers silently drops all packets.
func (b *bench) cut(ctx context.Context, s store, at []string, l lock, figures map[string]float64) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	proxies, through, err := proxied(at)
	defer func() {
		for _, p := range proxies {
			p.Close()
		}
	}()
	if err != nil {
		return err
	}
	holder, waiter, err := b.holderAndWaiter(ctx, s, through, at, l)
	defer holder.dismiss()
	defer waiter.dismiss()
	if err != nil {
		return err
	}
	began := time.Now()
	for _, p := range proxies {
		p.Cut()
	}
	// An error means that the waiter did not get the lock in time. The server then still considers the cut connection
	// alive. The table then shows no figure.
	if got, err := b.first(ctx, waiter, "got"); err == nil {
		figures["cut_next_ms"] = ms(got.Sub(began))
	}
	lost, err := b.first(ctx, holder, "lost")
	if err == nil {
		figures["cut_lost_ms"] = ms(lost.Sub(began))
	} else if l.kind == report.Rowlock {
		return err
	}
	return nil
}

// address matches the host:port in a client's address.
var address = regexp.MustCompile(`[\w.-]+:\d+`)

// proxied starts a proxy before each address, and returns the addresses with the proxies in place of the servers.
func proxied(at []string) (proxies []*faultproxy.Proxy, through []string, err error) {
	for _, a := range at {
		p, err := faultproxy.New(address.FindString(a))
		if err != nil {
			return proxies, nil, err
		}
		proxies = append(proxies, p)
		through = append(through, address.ReplaceAllString(a, p.Addr()))
	}
	return proxies, through, nil
}

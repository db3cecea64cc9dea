package main

import (
	"context"
	"regexp"
	"time"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/internal/faultproxy"
)

// cut makes the network between the holder and its servers a black hole.
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
	if got, err := b.first(ctx, waiter, "got"); err == nil { // else the server still believes in a connection of which nothing comes
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

// address finds host:port in what a client takes for an address.
var address = regexp.MustCompile(`[\w.-]+:\d+`)

// proxied is the same addresses by way of a proxy before each.
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

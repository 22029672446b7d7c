package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
)

// startEtcd runs a one-member etcd on dir and returns the URL for its clients.
// It keeps what it acknowledged when its process is killed, not when the
// machine is: it never waits for the disk.
func startEtcd(ctx context.Context, dir, logFile string) (*embed.Etcd, string, error) {
	config := embed.NewConfig()
	config.Dir = dir
	config.UnsafeNoFsync = true
	config.EnableGRPCGateway = false // it would dial the port 0 below
	config.LogOutputs = []string{logFile}
	config.LogLevel = "warn"
	config.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration // 0, the default here, warns of each
	// The system picks the ports; nobody else has to know them beforehand.
	any := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.ListenPeerUrls, config.AdvertisePeerUrls = any, any
	config.ListenClientUrls, config.AdvertiseClientUrls = any, any
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	e, err := embed.StartEtcd(config)
	if err != nil {
		return nil, "", fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-e.Server.ReadyNotify():
		return e, "http://" + e.Clients[0].Addr().String(), nil
	case err = <-e.Err():
	case <-e.Server.StopNotify():
		err = errors.New("it stopped")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	e.Close()
	return nil, "", fmt.Errorf("start etcd: %w", err)
}

package main

import (
	"errors"
	"net/url"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// startEtcd runs etcd in this process, which saves a child and ends with it.
func startEtcd(dir string) (*embed.Etcd, error) {
	any127 := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	cfg := embed.NewConfig()
	cfg.Dir = filepath.Join(dir, "etcd")
	cfg.UnsafeNoFsync = true // nothing here outlives the process
	// A reset is one transaction.
	cfg.MaxTxnOps, cfg.MaxRequestBytes = 100_000, 64<<20
	cfg.LogLevel = "error"
	cfg.LogOutputs = []string{filepath.Join(dir, "etcd.log")}
	cfg.EnableGRPCGateway = false // would dial the port 0 of above
	cfg.ListenPeerUrls = []url.URL{any127}
	cfg.AdvertisePeerUrls = []url.URL{any127}
	cfg.ListenClientUrls = []url.URL{any127}
	cfg.AdvertiseClientUrls = []url.URL{any127}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, err
	}
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		server.Close()
		return nil, err
	case <-time.After(time.Minute):
		server.Close()
		return nil, errors.New("not ready in a minute")
	}
	return server, nil
}

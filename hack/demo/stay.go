package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/hack/testbed"
)

// answer is how long an API server may take to answer a request that the user types.
const answer = 5 * time.Second

// stayUp keeps everything running until Ctrl-C. Meanwhile it does what the user types: see showTries.
func (d *demo) stayUp(ctx context.Context) error {
	if err := d.showTries(); err != nil {
		return err
	}
	typed, repaired, gone := d.read(ctx), make(chan string), d.watchClusters(ctx)
	ended := d.daemon.ended
	for {
		select {
		case <-ctx.Done():
			return nil
		case name := <-gone:
			d.clusterEnded(name)
		case <-ended:
			d.screen.note("\nThe daemon has ended%s. Press Enter to start it again.", d.daemon.how())
			ended = nil
		case text := <-repaired:
			d.screen.note("%s", text)
		case line := <-typed:
			switch {
			case strings.EqualFold(line, "d"):
				d.deleteController(ctx, repaired)
			case line == "" && ended == nil:
				if err := d.start(); err != nil {
					return err
				}
				ended = d.daemon.ended
				d.screen.note("The daemon runs again, as process %d.", d.daemon.cmd.Process.Pid)
			default:
				d.screen.note("Type d and press Enter to delete a controller. Press Ctrl-C to end the demo.")
			}
		}
	}
}

func (d *demo) clusterEnded(name string) {
	d.screen.note("\nCluster %s has ended, because one of its processes did.", name)
	d.screen.note("It does not start again. Press Ctrl-C to end the demo.")
}

// watchClusters sends the name of each cluster that ends by itself.
func (d *demo) watchClusters(ctx context.Context) <-chan string {
	gone := make(chan string)
	for _, c := range d.clusters {
		go func() {
			select {
			case <-c.Ended():
			case <-ctx.Done():
				return
			}
			select {
			case gone <- c.Name:
			case <-ctx.Done():
			}
		}()
	}
	return gone
}

// read sends the lines that the user types.
func (d *demo) read(ctx context.Context) <-chan string {
	lines := make(chan string)
	go func() {
		for in := bufio.NewReader(d.In); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			select {
			case lines <- strings.TrimSpace(line):
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// deleteController deletes the controller of a link, and sends a message when it is available again.
func (d *demo) deleteController(ctx context.Context, repaired chan<- string) {
	at, name := d.cluster(triedLink().Source), "controller-"+string(triedLink().Target)
	deployments := at.kube.AppsV1().Deployments(testbed.Multicluster)
	limited, cancel := context.WithTimeout(ctx, answer) // the user may have stopped the API server
	defer cancel()
	found, err := deployments.Get(limited, name, metav1.GetOptions{})
	if err == nil {
		err = deployments.Delete(limited, name, metav1.DeleteOptions{})
	}
	switch {
	case apierrors.IsNotFound(err):
		d.screen.note("There is no Deployment %s in cluster %s at the moment.", name, at.Name)
		return
	case err != nil:
		d.screen.note("Deleting Deployment %s in cluster %s failed: %v", name, at.Name, err)
		return
	}
	d.screen.note("Deleted Deployment %s in cluster %s.", name, at.Name)
	deleted := time.Now()
	go func() {
		for ctx.Err() == nil && !at.recreated(ctx, found.UID) {
			time.Sleep(interval)
		}
		text := fmt.Sprintf("Deployment %s is available again, after %.1f s.", name, time.Since(deleted).Seconds())
		select {
		case repaired <- text:
		case <-ctx.Done():
		}
	}()
}

// recreated reports whether the controller of the tried link is available and is not the one with this UID.
func (c *cluster) recreated(ctx context.Context, old types.UID) bool {
	d, err := c.kube.AppsV1().Deployments(testbed.Multicluster).Get(ctx, "controller-"+string(triedLink().Target), metav1.GetOptions{})
	return err == nil && d.UID != old && available(d)
}

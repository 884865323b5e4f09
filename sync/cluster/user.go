package cluster

import (
	"os"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/object"
)

// userOf returns the name by which an API server knows the account of a connection; empty where nothing but the server knows it. A token of a
// ServiceAccount says its name itself (KEP-1205), so that nobody has to be asked. Whether it is true, the server checks at each request.
func userOf(cfg *rest.Config) string {
	if cfg.Impersonate.UserName != "" {
		return cfg.Impersonate.UserName
	}
	token := cfg.BearerToken
	if token == "" && cfg.BearerTokenFile != "" {
		text, err := os.ReadFile(cfg.BearerTokenFile)
		if err != nil {
			return "" // who reads it for a request tells
		}
		token = strings.TrimSpace(string(text))
	}
	var c struct {
		Subject string `json:"sub"`
	}
	if !object.NewSecret([]byte(token)).Claims(&c) {
		return ""
	}
	return c.Subject
}

package faultproxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// certificate makes a server's certificate for loopback, and the PEM of the CA that signed it and whose key nobody keeps.
func certificate() (*tls.Config, []byte, error) {
	signer := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fault proxy CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	ca, caKey, err := sign(signer, signer, nil)
	if err != nil {
		return nil, nil, err
	}
	own, key, err := sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "fault proxy"},
		NotBefore: signer.NotBefore, NotAfter: signer.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, signer, caKey)
	if err != nil {
		return nil, nil, err
	}
	pair := tls.Certificate{Certificate: [][]byte{own}, PrivateKey: key}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	return config, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca}), nil
}

// sign makes a certificate with a new key; by nil signs with that key itself.
func sign(of, signer *x509.Certificate, by *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if by == nil {
		by = key
	}
	der, err := x509.CreateCertificate(rand.Reader, of, signer, &key.PublicKey, by)
	return der, key, err
}

package probe

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"time"
)

// tlsConfig takes any certificate: what is wrong with it is told. No name is
// sent where the host is an address, as browsers do.
func tlsConfig(host string) *tls.Config {
	c := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}
	if net.ParseIP(host) == nil {
		c.ServerName = host
	}
	return c
}

// factsOf judges a certificate as a browser of this machine would at a moment.
func factsOf(state tls.ConnectionState, host string, now time.Time) *TLS {
	facts := &TLS{Version: tls.VersionName(state.Version), Names: []string{}, Problems: []TLSProblem{}}
	if len(state.PeerCertificates) == 0 {
		return facts
	}
	leaf := state.PeerCertificates[0]
	facts.Subject, facts.Issuer, facts.NotAfter = oneLine(leaf.Subject.String()), oneLine(leaf.Issuer.String()), leaf.NotAfter
	for _, name := range leaf.DNSNames[:min(len(leaf.DNSNames), 20)] {
		facts.Names = append(facts.Names, oneLine(name))
	}
	for _, ip := range leaf.IPAddresses[:min(len(leaf.IPAddresses), 20)] {
		facts.Names = append(facts.Names, ip.String())
	}
	problem := func(is bool, p TLSProblem) {
		if is {
			facts.Problems = append(facts.Problems, p)
		}
	}
	problem(now.After(leaf.NotAfter), Expired)
	problem(now.Before(leaf.NotBefore), NotYetValid)
	problem(leaf.VerifyHostname(host) != nil, WrongName)
	chain := x509.VerifyOptions{Intermediates: x509.NewCertPool(), CurrentTime: within(leaf, now)}
	for _, c := range state.PeerCertificates[1:] {
		chain.Intermediates.AddCert(c)
	}
	if _, err := leaf.Verify(chain); err != nil {
		self := bytes.Equal(leaf.RawSubject, leaf.RawIssuer) && leaf.CheckSignature(leaf.SignatureAlgorithm, leaf.RawTBSCertificate, leaf.Signature) == nil
		problem(self, SelfSigned)
		problem(!self, UnknownAuthority)
	}
	return facts
}

// within is a moment at which the certificate is valid, so that its age is one
// problem and its authority another.
func within(c *x509.Certificate, now time.Time) time.Time {
	switch {
	case now.After(c.NotAfter):
		return c.NotAfter
	case now.Before(c.NotBefore):
		return c.NotBefore
	}
	return now
}

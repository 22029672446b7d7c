package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/csv"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// What the server writes in its directory. Nothing else in it is ever removed.
const (
	lockFile       = "lock" // held while a server runs; also marks the directory as ours
	etcdDir        = "etcd"
	tlsDir         = "tls"
	saKeyFile      = "sa.key"     // signs and checks ServiceAccount tokens
	tokensFile     = "tokens.csv" // the administrator's token
	accessFile     = "access.json"
	kubeconfigFile = "kubeconfig"
	apiLogFile     = "kube-apiserver.log"
	etcdLogFile    = "etcd.log"
)

// dataDir is a directory that this process alone uses.
type dataDir struct {
	path string
	lock *os.File
}

// claimDir creates or reopens a data directory; "" is a new temporary one. A
// directory with someone else's files in it, or in use, is refused.
func claimDir(path string) (*dataDir, error) {
	var err error
	if path == "" {
		path, err = os.MkdirTemp("", "controlplane-")
	} else if path, err = filepath.Abs(path); err == nil {
		err = os.MkdirAll(path, 0o700)
	}
	if err != nil {
		return nil, err
	}
	d := &dataDir{path: path}
	if _, err := os.Stat(d.file(lockFile)); errors.Is(err, fs.ErrNotExist) {
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		if len(entries) > 0 {
			return nil, fmt.Errorf("%s is not empty and was not made by controlplane: name another directory", path)
		}
	}
	if d.lock, err = os.OpenFile(d.file(lockFile), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is used by another controlplane", path), d.lock.Close())
	}
	return d, nil
}

func (d *dataDir) file(name string) string { return filepath.Join(d.path, name) }

// release gives the directory back, and removes what the server wrote unless
// keep is set.
func (d *dataDir) release(keep bool) error {
	if keep {
		return d.lock.Close()
	}
	var errs []error
	for _, name := range []string{etcdDir, tlsDir, saKeyFile, tokensFile, accessFile, kubeconfigFile, apiLogFile, etcdLogFile, lockFile} {
		errs = append(errs, os.RemoveAll(d.file(name)))
	}
	_ = os.Remove(d.path) // stays when it holds files that are not ours
	return errors.Join(append(errs, d.lock.Close())...)
}

// lastPort is the port of the last server in this directory, 0 if none.
func (d *dataDir) lastPort() int {
	var a access
	if b, err := os.ReadFile(d.file(accessFile)); err == nil {
		_ = json.Unmarshal(b, &a)
	}
	u, err := url.Parse(a.URL)
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(u.Port())
	return port
}

// adminToken returns the administrator's token, made at the first start.
func (d *dataDir) adminToken() (string, error) {
	f, err := os.Open(d.file(tokensFile))
	if err == nil {
		defer f.Close()
		record, err := csv.NewReader(f).Read()
		if err != nil {
			return "", fmt.Errorf("%s: %w", f.Name(), err)
		}
		return record[0], nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	token := rand.Text()
	return token, os.WriteFile(d.file(tokensFile), []byte(token+",admin,admin,system:masters\n"), 0o600)
}

// serviceAccountKey returns the file of the key that signs ServiceAccount
// tokens, made at the first start: tokens stay good after a restart.
func (d *dataDir) serviceAccountKey() (string, error) {
	file := d.file(saKeyFile)
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", err
	}
	return file, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

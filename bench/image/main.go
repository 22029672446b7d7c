// Command image writes a container image of a static binary as a file, without
// a daemon and from nothing:
//
//	go run ./bench/image -binary bin/nestor-linux -tag nestor:dev -out bin/nestor-image.tar
//
// The file is what docker load, ctr images import, nerdctl load and kind load
// image-archive read. The same binary gives the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func main() {
	binary := flag.String("binary", "bin/nestor-linux", "the static binary")
	arch := flag.String("arch", runtime.GOARCH, "what it is built for")
	tag := flag.String("tag", "nestor:dev", "the name of the image")
	out := flag.String("out", "bin/nestor-image.tar", "the file to write")
	flag.Parse()
	if err := write(*binary, *arch, *tag, *out); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func write(binary, arch, tag, out string) error {
	reference, err := name.NewTag(tag)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	image, err := build(content, arch)
	if err != nil {
		return err
	}
	if err := tarball.WriteToFile(out, reference, image); err != nil {
		return errors.Join(err, os.Remove(out))
	}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	size, err := layers[0].Size()
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s, %.1f MB unpacked, %.1f MB to pull\n", out, tag, float64(len(content))/1e6, float64(size)/1e6)
	return nil
}

// build is the Dockerfile of portal/deploy, in Go.
func build(binary []byte, arch string) (v1.Image, error) {
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	err := w.WriteHeader(&tar.Header{Name: "nestor", Mode: 0o555, Size: int64(len(binary)), Typeflag: tar.TypeReg, Format: tar.FormatPAX})
	if err == nil {
		_, err = w.Write(binary)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Architecture, config.OS = arch, "linux"
	config.Config = v1.Config{
		User:         "65532:65532",
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Entrypoint:   []string{"/nestor"},
		Cmd:          []string{"portal", "serve", "--contract=/contract/endpoints.yaml"},
	}
	return mutate.ConfigFile(image, config)
}

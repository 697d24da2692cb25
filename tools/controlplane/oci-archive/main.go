// Assembles an image from tar files as an OCI image layout, without a daemon and without a registry. The recipe is
// read as JSON from the standard input; the digests are written as JSON to the standard output. tools/images/oci.py
// calls it.
package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

type recipe struct {
	Folder      string            `json:"folder"`      // of the layout: is made
	Annotations map[string]string `json:"annotations"` // of the entry in index.json
	Images      []image           `json:"images"`      // several: one for each architecture
}

type image struct {
	Config v1.ConfigFile `json:"config"` // layers and history are added
	Layers []layer       `json:"layers"`
}

type layer struct {
	Path     string `json:"path"`
	Compress bool   `json:"compress"` // false: gzip that only copies, which is fast
}

type digests struct {
	Archive   v1.Hash   `json:"archive"` // the one to pull
	Manifests []v1.Hash `json:"manifests"`
}

func assemble(one image) (v1.Image, error) {
	found := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	one.Config.RootFS.Type = "layers" // the only one that the OCI image specification allows
	found, err := mutate.ConfigFile(found, &one.Config)
	if err != nil {
		return nil, err
	}
	history := v1.History{Created: one.Config.Created, CreatedBy: "scripts/images"}
	for _, each := range one.Layers {
		how := []tarball.LayerOption{
			tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.NoCompression)}
		if each.Compress {
			how = append(how, tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching)
		}
		content, err := tarball.LayerFromFile(each.Path, how...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", each.Path, err)
		}
		if found, err = mutate.Append(found, mutate.Addendum{Layer: content, History: history}); err != nil {
			return nil, err
		}
	}
	labels := mutate.Annotations(found, one.Config.Config.Labels)
	return labels.(v1.Image), nil
}

func write(wanted recipe) (made digests, err error) {
	folder, err := layout.Write(wanted.Folder, empty.Index)
	if err != nil {
		return made, err
	}
	annotations := layout.WithAnnotations(wanted.Annotations)
	index := v1.ImageIndex(empty.Index)
	for _, one := range wanted.Images {
		found, err := assemble(one)
		if err != nil {
			return made, err
		}
		if made.Archive, err = found.Digest(); err != nil {
			return made, err
		}
		made.Manifests = append(made.Manifests, made.Archive)
		platform := one.Config.Platform()
		if len(wanted.Images) == 1 {
			return made, folder.AppendImage(found, annotations, layout.WithPlatform(*platform))
		}
		index = mutate.AppendManifests(
			index, mutate.IndexAddendum{Add: found, Descriptor: v1.Descriptor{Platform: platform}})
	}
	if made.Archive, err = index.Digest(); err != nil {
		return made, err
	}
	return made, folder.AppendIndex(index, annotations)
}

func run() error {
	var wanted recipe
	if err := json.NewDecoder(os.Stdin).Decode(&wanted); err != nil {
		return err
	}
	made, err := write(wanted)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(made)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "oci-archive:", err)
		os.Exit(1)
	}
}

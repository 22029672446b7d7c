package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// link is a link of Markdown to a file of the repository, its anchor left out.
var link = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)

// pages gives every Markdown page by its path from the repository's root.
func pages(t *testing.T) map[string]string {
	root := os.DirFS(filepath.Join("..", ".."))
	found := map[string]string{}
	require.NoError(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if path.Ext(name) != ".md" {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		found[name] = string(text)
		return err
	}))
	require.Contains(t, found, "README.md")
	return found
}

func TestLinksLeadToFiles(t *testing.T) {
	checked := 0
	for name, text := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			target := path.Join(path.Dir(name), match[1])
			_, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(target)))
			assert.NoError(t, err, "%s links to %s", name, match[1])
			checked++
		}
	}
	assert.Greater(t, checked, 50)
}

func TestEveryGuideIsListed(t *testing.T) {
	all := pages(t)
	for name := range all {
		if path.Dir(name) == "docs" && name != "docs/README.md" {
			assert.Contains(t, all["docs/README.md"], "]("+path.Base(name)+")", name)
		}
	}
}

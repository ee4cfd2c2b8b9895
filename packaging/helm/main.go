// Command helm renders a chart of this folder with Helm's own packages, as `helm template` does, and prints the manifests. It fails
// where the values do not follow the chart's schema. A module of its own: only tests need it.
//
// usage: helm CHART RELEASE NAMESPACE [VALUES.yaml]...
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

var errUsage = errors.New("usage: helm CHART RELEASE NAMESPACE [VALUES.yaml]")

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "helm:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) < 3 || len(args) > 4 {
		return errUsage
	}
	values := common.Values{}
	if len(args) == 4 {
		raw, err := os.ReadFile(args[3])
		if err != nil {
			return fmt.Errorf("values: %w", err)
		}
		if values, err = common.ReadValues(raw); err != nil {
			return fmt.Errorf("%s: %w", args[3], err)
		}
	}
	files, err := render(ctx, args[0], args[1], args[2], values)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) != ".yaml" || strings.TrimSpace(files[name]) == "" {
			continue
		}
		if _, err := fmt.Fprintf(out, "---\n# %s\n%s\n", name, strings.TrimSpace(files[name])); err != nil {
			return err
		}
	}
	return nil
}

// render is what the templates of a chart say with these values. A value that a template uses and nobody has set is an error.
func render(ctx context.Context, chart, release, namespace string, values map[string]any) (map[string]string, error) {
	c, err := loader.Load(chart)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", chart, err)
	}
	all, err := util.ToRenderValues(c, values, common.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		return nil, fmt.Errorf("values of %s: %w", chart, err)
	}
	files, err := engine.Engine{Strict: true}.RenderWithContext(ctx, c, all)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", chart, err)
	}
	return files, nil
}

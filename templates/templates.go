// Package templates holds the templates that gantry comes with, one file each. Package client/template reads them.
package templates

import "embed"

// Files are the templates.
//
//go:embed *.yaml
var Files embed.FS

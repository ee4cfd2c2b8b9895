// Package templates holds the templates that gantry comes with, one file each, and the catalogue of models that they run. Package
// client/template reads the templates, client/catalogue the catalogue.
package templates

import "embed"

// Files are the templates.
//
//go:embed *.yaml
var Files embed.FS

// Models is the catalogue of open models.
//
//go:embed catalogue/models.yaml
var Models []byte

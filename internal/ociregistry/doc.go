// Package ociregistry is what customers' commands and machines must do alike with registries of images: which image of a list is run, what
// is too much of one, and how to wait for a registry that asks for it.
package ociregistry

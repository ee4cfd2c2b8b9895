// Package server has a keeper's figures, which figures.Server (internal/figures) shows.
package server

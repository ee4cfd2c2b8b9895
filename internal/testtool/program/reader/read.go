package main

import (
	"fmt"
	"image/png"
	"io"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
)

// qr reads a picture with a QR code, a PNG, and prints its text.
func qr(_ []string, in io.Reader, out io.Writer) error {
	img, err := png.Decode(in)
	if err != nil {
		return fmt.Errorf("qr: %w", err)
	}
	bits, err := gozxing.NewBinaryBitmapFromImage(img)
	if err != nil {
		return fmt.Errorf("qr: %w", err)
	}
	read, err := qrcode.NewQRCodeReader().Decode(bits, nil)
	if err != nil {
		return fmt.Errorf("qr: no code was found: %w", err)
	}
	_, err = io.WriteString(out, read.GetText())
	return err
}

// checkDashboard prints what Grafana's own types, which are generated from its schemas, do not know in a dashboard,
// and nothing for one that they read, down to the options of panels and the queries of Prometheus.
func checkDashboard(_ []string, in io.Reader, out io.Writer) error {
	raw, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("dashboard: %w", err)
	}
	plugins.RegisterDefaultPlugins()
	//lint:ignore SA1019 the files are of this schema, which every release of Grafana reads; its successor is another format
	var d dashboard.Dashboard
	// It returns an empty list of errors for none.
	if err = d.UnmarshalJSONStrict(raw); err == nil || err.Error() == "" {
		err = d.Validate()
	}
	if err != nil {
		_, err = io.WriteString(out, err.Error())
	}
	return err
}

package group

import (
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"

	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/sdk/mesh"
)

// BenchmarkThroughput sends one TCP stream between two namespaces: over the port that QUIC shares, and over stock
// wireguard-go with sockets of its own. Both ends run in this process.
func BenchmarkThroughput(b *testing.B) {
	b.Run("shared port", func(b *testing.B) {
		w := &world{machines: map[solana.PublicKey]*machine{}}
		x, y := w.machine(b), w.machine(b)
		group(b, x, y)
		for i, m := range []*machine{x, y} {
			m.connect(b, i)
			m.agent(b)
		}
		stream(b, x, y)
	})
	b.Run("stock wireguard-go", func(b *testing.B) {
		w := &world{machines: map[solana.PublicKey]*machine{}}
		x, y := w.machine(b), w.machine(b)
		var keys [2]mesh.PrivateKey
		var devices [2]*device.Device
		var ports [2]int
		for i, m := range []*machine{x, y} {
			m.connect(b, i)
			fd, err := network.OpenGroup(m.pid, mesh.Interface)
			require.NoError(b, err)
			l, err := newLink(fd, mesh.Address(i))
			require.NoError(b, err)
			keys[i], err = mesh.NewPrivateKey()
			require.NoError(b, err)
			devices[i] = device.NewDevice(bare{l.Device}, conn.NewStdNetBind(), &device.Logger{Verbosef: device.DiscardLogf, Errorf: device.DiscardLogf})
			b.Cleanup(devices[i].Close)
			free, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
			require.NoError(b, err)
			ports[i] = free.LocalAddr().(*net.UDPAddr).Port
			require.NoError(b, free.Close())
			require.NoError(b, devices[i].IpcSet(fmt.Sprintf("private_key=%s\nlisten_port=%d\n", hex.EncodeToString(keys[i].Bytes()), ports[i])))
			require.NoError(b, devices[i].Up())
		}
		for i := range devices {
			peer := keys[1-i].Public()
			require.NoError(b, devices[i].IpcSet(fmt.Sprintf("public_key=%x\nendpoint=127.0.0.1:%d\nallowed_ip=%s\n",
				peer[:], ports[1-i], netip.PrefixFrom(mesh.Address(1-i), 32))))
		}
		stream(b, x, y)
	})
}

// bare is the interface without what a link does besides.
type bare struct{ tun.Device }

func (bare) MTU() (int, error) { return mesh.MTU, nil }

const piece = 1 << 20

// stream sends b.N pieces from x to y.
func stream(b *testing.B, x, y *machine) {
	var l net.Listener
	var err error
	y.inside(b, func() { l, err = net.Listen("tcp4", ":9000") })
	require.NoError(b, err)
	defer l.Close()
	got := make(chan int64, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			got <- 0
			return
		}
		defer c.Close()
		n, _ := io.Copy(io.Discard, c)
		got <- n
	}()
	var c net.Conn
	require.Eventually(b, func() bool {
		x.inside(b, func() { c, err = net.DialTimeout("tcp4", mesh.Address(1).String()+":9000", time.Second) })
		return err == nil
	}, 30*time.Second, 50*time.Millisecond)
	data := make([]byte, piece)
	b.SetBytes(piece)
	b.ResetTimer()
	for range b.N {
		if _, err := c.Write(data); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, c.Close())
	require.EqualValues(b, b.N*piece, <-got)
	b.StopTimer()
}

// The job of the container tests. It prints what it sees of the machine, as its arguments ask.
package main

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// sink is where work goes that is done for its own sake.
var sink atomic.Uint64

func main() {
	for _, what := range os.Args[1:] {
		verb, rest, _ := strings.Cut(what, "=")
		switch verb {
		case "say":
			fmt.Println(rest)
		case "env":
			fmt.Println(rest, os.Getenv(rest))
		case "kernel":
			raw, err := os.ReadFile("/proc/version")
			fmt.Println("kernel", string(raw), err)
		case "who":
			fmt.Println("who", os.Getpid(), os.Getuid(), os.Getgid())
		case "root":
			status, err := os.ReadFile("/proc/self/status")
			fmt.Println("root", os.Geteuid(), err, syscall.Setuid(0), strings.Contains(string(status), "NoNewPrivs:\t1"))
		case "environ":
			for _, pair := range os.Environ() {
				fmt.Printf("pair %q\n", pair)
			}
		case "list":
			entries, err := os.ReadDir(rest)
			for _, e := range entries {
				fmt.Println("entry", e.Name())
			}
			fmt.Println("listed", rest, len(entries), err)
		case "write":
			fmt.Println("wrote", rest, os.WriteFile(rest, []byte("x"), 0o600))
		case "fill":
			f, err := os.Create(rest)
			for err == nil {
				_, err = f.Write(make([]byte, 1<<20))
			}
			fmt.Println("filled", err)
		case "files": // files=N tries for so many open at once
			n, err := strconv.Atoi(rest)
			var limit, most syscall.Rlimit
			before := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
			for range n {
				if err != nil {
					break
				}
				_, err = syscall.Open("/bin/job", syscall.O_RDONLY, 0)
			}
			most = syscall.Rlimit{Cur: limit.Max, Max: limit.Max}
			fmt.Println("files", limit.Cur, limit.Max, before, err, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &most))
		case "put": // put=PATH,TEXT writes the text twice, so that it is on the disk and differs from the command
			path, text, _ := strings.Cut(rest, ",")
			f, err := os.Create(path)
			if err == nil {
				_, err = f.WriteString(text + text)
			}
			if err == nil {
				err = f.Sync()
			}
			fmt.Println("put", path, err)
		case "get":
			raw, err := os.ReadFile(rest)
			fmt.Printf("got %s %q %v\n", rest, raw, err)
		case "await":
			for {
				if _, err := os.Stat(rest); err == nil {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			fmt.Println("awaited", rest)
		case "count": // writes numbers to two files, one after the other, for ever
			for n := 0; ; n++ {
				for _, name := range []string{"a", "b"} {
					if err := os.WriteFile(rest+"/"+name, fmt.Appendf(nil, "%09d", n), 0o600); err != nil {
						fmt.Println("count", err)
						os.Exit(1)
					}
				}
				if n%100 == 0 {
					fmt.Println("counted", n)
				}
				time.Sleep(time.Millisecond)
			}
		case "look": // at its addresses and a server, again and again
			go func() {
				for {
					addrs, err := net.InterfaceAddrs()
					fmt.Println("looked", addrs, err, ask("tcp://"+rest))
					time.Sleep(100 * time.Millisecond)
				}
			}()
		case "tick": // tick=N says N numbers, one each second
			n, err := strconv.Atoi(rest)
			for i := range n {
				fmt.Println("tick", i)
				time.Sleep(time.Second)
			}
			fmt.Println("ticked", n, err)
		case "live":
			live(strings.Split(rest, ","))
		case "remove":
			fmt.Println("removed", rest, os.Remove(rest))
		case "grow":
			var all [][]byte
			for {
				b := make([]byte, 16<<20)
				for i := range b {
					b[i] = 1
				}
				all = append(all, b)
				fmt.Println("grown", len(all), all[0][0])
			}
		case "hold": // hold=MIB of memory
			n, err := strconv.Atoi(rest)
			held := make([]byte, n<<20)
			for i := range held {
				held[i] = byte(i)
			}
			defer func() { fmt.Println(held[len(held)/2]) }() // it is used until the end
			fmt.Println("holding", n, err)
		case "random": // random=MIB of memory that cannot be made smaller
			n, err := strconv.Atoi(rest)
			held := make([]byte, n<<20)
			_, _ = rand.Read(held)
			defer func() { fmt.Println(held[len(held)/2]) }()
			fmt.Println("random", n, err)
		case "burn": // one processor
			go func() {
				for i := uint64(0); ; i++ {
					sink.Store(i)
				}
			}()
		case "dial":
			c, err := net.DialTimeout("tcp", rest, 2*time.Second)
			if err == nil {
				c.Close()
			}
			fmt.Println("dialled", err)
		case "ask": // says what servers answer, all asked at once: ask=tcp://HOST:PORT,udp://HOST:PORT,ping://HOST
			askAll(strings.Split(rest, ","))
		case "resolve":
			addrs, err := net.LookupHost(rest)
			fmt.Println("resolved", rest, addrs, err)
		case "addresses":
			addrs, err := net.InterfaceAddrs()
			fmt.Println("addresses", addrs, err)
		case "raw": // sockets that forge packets
			for _, domain := range []int{syscall.AF_INET, syscall.AF_PACKET} {
				_, err := syscall.Socket(domain, syscall.SOCK_RAW, syscall.IPPROTO_RAW)
				fmt.Println("raw socket", domain, err)
			}
		case "serve":
			l, err := net.Listen("tcp", ":"+rest)
			fmt.Println("serving", err)
			go func() {
				for {
					if c, err := l.Accept(); err == nil {
						fmt.Fprint(c, "you are in another lease")
						c.Close()
					}
				}
			}()
		case "wait":
			c := make(chan os.Signal, 1)
			signal.Notify(c, syscall.SIGTERM)
			fmt.Println("waiting")
			<-c
			fmt.Println("asked to end")
			os.Exit(5)
		case "exit":
			os.Exit(9)
		}
	}
}

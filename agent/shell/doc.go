// Package shell serves SSH inside of a customer's container: shells, commands, files and forwards.
//
// The server is no part of an image. The agent starts the small static program gantry-shell in the container's sandbox,
// once for each connection, as the image's user, and copies the bytes of the customer's stream to its standard input and
// output. So whatever a client sends is parsed inside the sandbox, files are those that the job sees, and forwards dial
// from the container's own network.
//
// The stream is one of an authenticated customer already. The keys that may log in are those of the lease's job, and the
// host key is one that the node derives for the lease ([NewSetup]) and tells the customer over that stream.
//
// A gateway that a customer has granted ports is served by the same program, which then connects it to these ports alone
// (package sdk/tunnel).
//
// A command whose connection breaks gets SIGHUP with all of its session, and SIGKILL after [killAfter] with all of its
// process group. What a command has left behind when it ended by itself, and what has made a session of its own (tmux),
// lives on until the lease ends.
package shell

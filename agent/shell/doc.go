// Package shell serves SSH inside of a customer's container: shells, commands, files and forwards.
//
// The server is not part of the image. For each connection, the agent starts the small static program gantry-shell in
// the container's sandbox, as the image's user. It copies the bytes of the customer's stream to the program's standard
// input and output. So the sandbox parses everything that a client sends, the files are those that the job sees, and
// forwards dial from the container's own network.
//
// The stream belongs to a customer who is already authenticated. The keys that may log in are those of the lease's job.
// The node derives the host key for the lease ([NewSetup]) and sends it to the customer over that stream.
//
// The same program serves a gateway to which a customer has granted ports. It then connects the gateway to these ports
// alone (package sdk/tunnel).
//
// If the connection of a command breaks, the command's whole session gets SIGHUP. After [killAfter], its whole process
// group gets SIGKILL. Some processes live until the lease ends: those that a command left behind when it ended
// normally, and those that started a session of their own (tmux).
package shell

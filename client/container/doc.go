// Package container enters the container of a lease: it logs in to the container's SSH server, runs commands and shells,
// copies files and forwards ports. The streams go through the customer's membership of the network, so that neither the
// machine nor the container has an open port for them. The machine's own key vouches for the container's host key.
package container

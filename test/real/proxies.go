// Gets the address of its first argument through the proxy of its environment. It connects to nothing but the proxy, whose
// host and port are the second argument.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
)

func main() {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != os.Args[2] {
			return nil, errors.New("no proxy")
		}
		return net.Dial(network, address)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: dial}
	_, err := transport.RoundTrip(must(http.NewRequest("GET", os.Args[1], nil)))
	fmt.Println(err)
}

func must(request *http.Request, err error) *http.Request {
	if err != nil {
		panic(err)
	}
	return request
}

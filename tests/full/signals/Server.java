// SPDX-License-Identifier: Apache-2.0

import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/** Answers each request with 4000 bytes: java Server PORT. */
public class Server {
    public static void main(String[] args) throws Exception {
        HttpServer server = HttpServer.create(
            new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 0);
        server.createContext("/", asked -> {
            asked.sendResponseHeaders(200, 4000);
            asked.getResponseBody().write(new byte[4000]);
            asked.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.start();
    }
}

// SPDX-License-Identifier: Apache-2.0
// recorder.js PORT: an HTTP server on 127.0.0.1 that writes each request it was led to believe in as a line
// of JSON, and answers 200. A body that did not come to its end has "whole": false.
const fs = require('fs');
const http = require('http');

const note = (request, body, whole) => fs.writeSync(1, JSON.stringify({
  method: request.method,
  path: request.url,
  host: request.headers.host ?? '',
  body: Buffer.concat(body).toString('hex'),
  whole,
}) + '\n');

const server = http.createServer({insecureHTTPParser: false}, (request, response) => {
  const body = [];
  request.on('data', (octets) => body.push(octets));
  request.on('end', () => {
    note(request, body, true);
    response.end('seen\n');
  });
  request.on('aborted', () => note(request, body, false));
  request.on('error', () => {});
});

// What is given the whole socket was believed as well.
for (const event of ['connect', 'upgrade']) {
  server.on(event, (request, socket) => {
    note(request, [], true);
    socket.destroy();
  });
}
server.listen(Number(process.argv[2]), '127.0.0.1');

// A hook forwarder as it is usually shipped: reads the payload, asks the socket, prints the answer.
const net = require('node:net');
const chunks = [];
process.stdin.on('data', (chunk) => chunks.push(chunk));
process.stdin.on('end', () => {
  const payload = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  const id = `${process.pid}-${Date.now()}`;
  const socket = net.connect(process.env.WINDLASS_SOCKET, () => {
    socket.write(JSON.stringify({ v: 1, id, event: process.argv[2], payload }) + '\n');
  });
  let answer = '';
  socket.on('data', (chunk) => { answer += chunk; });
  socket.on('end', () => {
    const reply = JSON.parse(answer);
    process.stdout.write(reply.stdout);
    process.stderr.write(reply.stderr);
    process.exitCode = reply.exit;
  });
});

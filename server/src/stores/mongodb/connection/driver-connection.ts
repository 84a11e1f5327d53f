/**
 * The driver's connection, with one bug fixed. In mongodb 7.8 and 7.9 a command whose socket is destroyed before it is
 * written waits forever: a destroyed socket never drains, and nothing tells the command that its connection has closed.
 * When all connections break at once, as they do when the server dies, the monitoring connection is lost in this way.
 * Then the client never learns that the server is back. Here such a command fails, as the driver expects of a closing
 * connection.
 */
import type { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'

interface DriverConnection extends EventEmitter {
  readonly closed: boolean
  /** The reason why it is closed. */
  readonly error: Error | null
  writeCommand(command: unknown, options: unknown): Promise<void>
}

const { prototype } = createRequire(import.meta.url)('mongodb/lib/cmap/connection.js').Connection as {
  readonly prototype: DriverConnection
}
const write = prototype.writeCommand

prototype.writeCommand = function (this: DriverConnection, command, options) {
  return new Promise((resolve, reject) => {
    const onClose = () => reject(this.error)
    if (this.closed) return onClose()
    this.once('close', onClose)
    write
      .call(this, command, options)
      .then(resolve, reject)
      .finally(() => this.off('close', onClose))
  })
}

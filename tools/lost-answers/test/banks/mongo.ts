import { BSON } from 'mongodb'
import type { Conversation } from '../bank.js'

const OP_MSG = 2013

const NOT_VALID = { ok: 1, n: 0, writeErrors: [{ index: 0, code: 121, errmsg: 'Document failed validation' }] }
const NOT_LET_IN = { ok: 0, code: 13, codeName: 'Unauthorized', errmsg: 'not authorized on bank to execute command' }

/** The protocol of MongoDB, as a replica set of one: takes an insert for the request that acts. */
export const mongo = (): Conversation => converse(NOT_VALID)

/** Refuses the caller, and not what it asks. */
export const mongoThatLetsNobodyIn = (): Conversation => converse(NOT_LET_IN)

function converse(refusal: object): Conversation {
  let bytes = Buffer.alloc(0)
  let acting = 0
  let key: string | undefined
  return {
    hear(more, reply) {
      bytes = Buffer.concat([bytes, more])
      for (;;) {
        if (bytes.length < 4 || bytes.length < bytes.readInt32LE(0)) return false
        const message = bytes.subarray(0, bytes.readInt32LE(0))
        bytes = bytes.subarray(message.length)
        const id = message.readInt32LE(4)
        // After the head, the flags and the kind of the section.
        const length = message.readInt32LE(21)
        const command = BSON.deserialize(message.subarray(21, 21 + length))
        if ('insert' in command) {
          acting = id
          key = command.txnNumber === undefined ? undefined : JSON.stringify([command.lsid, command.txnNumber])
          return true
        }
        reply(answer(id, 'hello' in command ? HELLO : { ok: 1 }))
      }
    },
    key: () => key,
    answers: () => ({
      cut: answer(acting, { ok: 1, n: 1, note: 'x'.repeat(1_000) }).subarray(0, 100),
      refusal: answer(acting, refusal),
      failure: answer(acting, {
        ok: 0,
        code: 11600,
        codeName: 'InterruptedAtShutdown',
        errmsg: 'interrupted at shutdown',
      }),
    }),
  }
}

const HELLO = {
  ok: 1,
  isWritablePrimary: true,
  setName: 'bank',
  setVersion: 1,
  hosts: ['127.0.0.1:27017'],
  me: '127.0.0.1:27017',
  logicalSessionTimeoutMinutes: 30,
  minWireVersion: 0,
  maxWireVersion: 21,
  maxBsonObjectSize: 16_777_216,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
}

function answer(to: number, document: object): Buffer {
  const body = BSON.serialize(document)
  const head = Buffer.alloc(21)
  head.writeInt32LE(21 + body.length, 0)
  head.writeInt32LE(to, 8)
  head.writeInt32LE(OP_MSG, 12)
  return Buffer.concat([head, body])
}

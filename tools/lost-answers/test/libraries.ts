/** Real libraries, each about to do one thing that must not be done twice: how it is called, and what is set. */
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import Anthropic from '@anthropic-ai/sdk'
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { type ChannelOptions, credentials, Client as GrpcClient } from '@grpc/grpc-js'
import axios from 'axios'
import got from 'got'
import { Redis } from 'ioredis'
import ky from 'ky'
import { MongoClient } from 'mongodb'
import { createConnection } from 'mysql2/promise'
import { createTransport } from 'nodemailer'
import OpenAI from 'openai'
import { Client as PostgresClient } from 'pg'
import Stripe from 'stripe'
import { Agent, request as undiciRequest } from 'undici'
import { type Bank, openBank, type Protocol } from './bank.js'
import { openGrpcBank } from './banks/grpc.js'
import { http } from './banks/http.js'
import { mongo, mongoThatLetsNobodyIn } from './banks/mongo.js'
import { mysql } from './banks/mysql.js'
import { postgres } from './banks/postgres.js'
import { redis } from './banks/redis.js'
import { smtp } from './banks/smtp.js'
import type { Fault } from './fault.js'

export interface Library {
  readonly name: string
  open(fault: Fault): Promise<Bank>
  /** Does what it is for, once, as its user would, and waits `patienceMs` for an answer. Rejects as the library does. */
  act(bank: Bank, patienceMs: number): Promise<unknown>
  /** What its protocol or the library knows nothing of. */
  readonly without?: readonly Fault[]
  /** How it is settled where most others are settled the other way. */
  readonly but?: Settled
}

type Settled = Partial<Readonly<Record<Fault, 'leave' | 'reject'>>>

/** It tries again by itself, or does not say that there was no connection: what it tells may not be all that happened. */
const MAY_HAVE_TRIED_BEFORE: Settled = { refused: 'leave', not_found: 'leave' }
/** It tries again by itself, and does not tell of that in what it makes of an answer. */
const DOES_NOT_COUNT_TRIES: Settled = { ...MAY_HAVE_TRIED_BEFORE, refusal: 'leave' }
/** It tries again by itself with a key by which the other side knows the first try: a refusal is about both. */
const TRIES_WITH_A_KEY: Settled = { reset_then_refusal: 'reject' }
/** It makes a 402 of a card that was declined, and of nothing else. */
const DECLINES_CARDS: Settled = { unpaid: 'reject' }
/** It says that it tried only once: so a conflict is not one with itself. */
const SAYS_IT_TRIED_ONCE: Settled = { conflict: 'reject' }

const REFUND = { amount: 100 }

const over =
  (protocol: Protocol) =>
  (fault: Fault): Promise<Bank> =>
    openBank(protocol, fault)

const overHttp = over(http)
/** Without TLS. */
const PLAIN = ['untrusted'] as const
/** Without a word for "pay first". */
const NO_402 = [...PLAIN, 'unpaid'] as const
/** Without statuses of HTTP. */
const NO_HTTP = [...NO_402, 'conflict', 'failure_behind'] as const
/** A server that answers no has not done it, whatever went wrong. */
const REPLIES_ALONE = [...NO_HTTP, 'failure'] as const

function urlOf({ scheme, host, port }: Bank): string {
  return `${scheme}://${host}:${port}/refunds`
}

function nodeHttp(bank: Bank, patienceMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const send = bank.scheme === 'https' ? httpsRequest : httpRequest
    const options = { method: 'POST', timeout: patienceMs, agent: false }
    const request = send(urlOf(bank), options, async (response) => {
      try {
        let text = ''
        for await (const chunk of response) text += chunk
        if ((response.statusCode ?? 0) < 400) resolve(JSON.parse(text))
        else reject(Object.assign(new Error('the bank said no'), { statusCode: response.statusCode }))
      } catch (error) {
        reject(error)
      }
    })
    request.on('timeout', () => request.destroy())
    request.on('error', reject)
    request.end(JSON.stringify(REFUND))
  })
}

async function globalFetch(bank: Bank, patienceMs: number): Promise<unknown> {
  const response = await fetch(urlOf(bank), {
    method: 'POST',
    body: JSON.stringify(REFUND),
    signal: AbortSignal.timeout(patienceMs),
  })
  if (!response.ok) throw new Error(`the bank answered ${response.status}`)
  return response.json()
}

async function undici(bank: Bank, patienceMs: number): Promise<unknown> {
  const dispatcher = new Agent({ headersTimeout: patienceMs, bodyTimeout: patienceMs })
  try {
    const options = { method: 'POST', body: JSON.stringify(REFUND), dispatcher } as const
    const { statusCode, body } = await undiciRequest(urlOf(bank), options)
    const answer = await body.json()
    if (statusCode >= 400) throw Object.assign(new Error('the bank said no'), { statusCode })
    return answer
  } finally {
    await dispatcher.destroy()
  }
}

function gotBy(method: 'POST' | 'PUT') {
  return (bank: Bank, patienceMs: number): Promise<unknown> =>
    got(urlOf(bank), {
      method,
      json: REFUND,
      timeout: { response: patienceMs },
      retry: { limit: 1, calculateDelay: ({ computedValue }) => (computedValue > 0 ? 1 : 0) },
    }).json()
}

function kyBy(method: 'POST' | 'PUT') {
  return (bank: Bank, timeout: number): Promise<unknown> =>
    ky(urlOf(bank), { method, json: REFUND, timeout, retry: { limit: 1, delay: () => 1 } }).json()
}

function stripe(settings: { readonly maxNetworkRetries?: number }) {
  return ({ host, port }: Bank, patienceMs: number): Promise<unknown> => {
    const client = new Stripe('sk_test_1', { host, port, protocol: 'http', timeout: patienceMs, ...settings })
    return client.refunds.create({ charge: 'ch_1', amount: 10_000 })
  }
}

function sqs(settings: { readonly maxAttempts?: number }) {
  return async (bank: Bank, patienceMs: number): Promise<unknown> => {
    const client = new SQSClient({
      endpoint: urlOf(bank),
      region: 'eu-central-1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      requestHandler: { requestTimeout: patienceMs, throwOnRequestTimeout: true },
      ...settings,
    })
    try {
      return await client.send(new SendMessageCommand({ QueueUrl: urlOf(bank), MessageBody: 'refund' }))
    } finally {
      client.destroy()
    }
  }
}

async function pg({ host, port }: Bank, patienceMs: number): Promise<unknown> {
  const client = new PostgresClient({ host, port, user: 'bank', database: 'bank', query_timeout: patienceMs })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await client.query("insert into refunds values ('8812', 100)")
  } finally {
    void client.end().catch(() => undefined)
  }
}

async function mysql2({ host, port }: Bank, patienceMs: number): Promise<unknown> {
  const connection = await createConnection({ host, port, user: 'bank' })
  try {
    return await connection.query({ sql: "insert into refunds values ('8812', 100)", timeout: patienceMs })
  } finally {
    connection.destroy()
  }
}

async function mongodb({ host, port }: Bank, patienceMs: number): Promise<unknown> {
  const client = new MongoClient(`mongodb://${host}:${port}/?directConnection=true`, {
    serverApi: '1',
    // Longer than it takes to look at the server once more.
    serverSelectionTimeoutMS: 3_000,
    socketTimeoutMS: patienceMs,
  })
  try {
    return await client
      .db('bank')
      .collection('refunds')
      .insertOne({ order: '8812', ...REFUND })
  } finally {
    await client.close()
  }
}

async function ioredis({ host, port }: Bank, patienceMs: number): Promise<unknown> {
  const client = new Redis({
    host,
    port,
    lazyConnect: true,
    commandTimeout: patienceMs,
    retryStrategy: () => null,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await client.incrby('refunded', 100)
  } finally {
    client.disconnect()
  }
}

async function ioredisAgain({ host, port }: Bank, patienceMs: number): Promise<unknown> {
  const client = new Redis({
    host,
    port,
    commandTimeout: Math.min(patienceMs, 8_000),
    maxRetriesPerRequest: 2,
    retryStrategy: () => 100,
  })
  client.on('error', () => undefined)
  try {
    return await client.incrby('refunded', 100)
  } finally {
    client.disconnect()
  }
}

async function nodemailer({ host, port }: Bank, patienceMs: number): Promise<unknown> {
  const transport = createTransport({ host, port, ignoreTLS: true, socketTimeout: patienceMs })
  return transport.sendMail({ from: 'desk@bank.invalid', to: 'lost@bank.invalid', subject: 'Refund', text: 'Pay 100' })
}

const RETRY_POLICY = {
  maxAttempts: 2,
  initialBackoff: '0.01s',
  maxBackoff: '0.01s',
  backoffMultiplier: 1,
  retryableStatusCodes: ['UNAVAILABLE', 'INTERNAL', 'CANCELLED'],
}
const TRIED_AGAIN = {
  'grpc.service_config': JSON.stringify({ methodConfig: [{ name: [{}], retryPolicy: RETRY_POLICY }] }),
}

function grpc(settings: ChannelOptions) {
  return ({ host, port }: Bank, patienceMs: number): Promise<unknown> =>
    callGrpc(`${host}:${port}`, patienceMs, settings)
}

async function callGrpc(target: string, patienceMs: number, settings: ChannelOptions): Promise<unknown> {
  const client = new GrpcClient(target, credentials.createInsecure(), { 'grpc.enable_http_proxy': 0, ...settings })
  const same = (bytes: Buffer): Buffer => bytes
  const deadline = Date.now() + 2 * patienceMs
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest('/bank.Bank/Refund', same, same, Buffer.from('100'), { deadline }, (error, value) => {
        if (error) reject(error)
        else resolve(value)
      })
    })
  } finally {
    client.close()
  }
}

const asked = { max_tokens: 16, messages: [{ role: 'user', content: 'Refund 8812' }] } as const

function openai(bank: Bank, patienceMs: number): Promise<unknown> {
  const client = new OpenAI({ apiKey: 'key', baseURL: urlOf(bank), timeout: patienceMs })
  return client.chat.completions.create({ ...asked, messages: [...asked.messages], model: 'm' })
}

function anthropic(bank: Bank, patienceMs: number): Promise<unknown> {
  const client = new Anthropic({ apiKey: 'key', baseURL: urlOf(bank), timeout: patienceMs })
  return client.messages.create({ ...asked, messages: [...asked.messages], model: 'm' })
}

export const LIBRARIES: readonly Library[] = [
  { name: 'node:http', open: overHttp, act: nodeHttp },
  { name: 'fetch', open: overHttp, act: globalFetch },
  { name: 'undici', open: overHttp, act: undici },
  {
    name: 'axios',
    open: overHttp,
    act: (bank, timeout) => axios.post(urlOf(bank), REFUND, { timeout, proxy: false }),
  },
  { name: 'got, by POST', open: overHttp, act: gotBy('POST'), but: SAYS_IT_TRIED_ONCE },
  {
    name: 'got, by PUT, tried again',
    open: overHttp,
    act: gotBy('PUT'),
    but: { ...MAY_HAVE_TRIED_BEFORE, ...SAYS_IT_TRIED_ONCE },
  },
  { name: 'ky, by POST', open: overHttp, act: kyBy('POST') },
  {
    name: 'ky, by PUT, tried again',
    open: overHttp,
    act: kyBy('PUT'),
    // It hands on what fetch says of the last try, and nothing of those before.
    without: ['reset_then_refused'],
    but: { refusal: 'leave' },
  },
  {
    name: 'stripe',
    open: overHttp,
    act: stripe({}),
    without: PLAIN,
    but: { ...MAY_HAVE_TRIED_BEFORE, ...TRIES_WITH_A_KEY, ...DECLINES_CARDS },
  },
  {
    name: 'stripe, without retries',
    open: overHttp,
    act: stripe({ maxNetworkRetries: 0 }),
    without: PLAIN,
    but: { ...TRIES_WITH_A_KEY, ...DECLINES_CARDS },
  },
  { name: 'openai', open: overHttp, act: openai, without: PLAIN, but: DOES_NOT_COUNT_TRIES },
  { name: '@anthropic-ai/sdk', open: overHttp, act: anthropic, without: PLAIN, but: DOES_NOT_COUNT_TRIES },
  {
    name: '@aws-sdk/client-sqs',
    open: overHttp,
    act: sqs({}),
    without: PLAIN,
    but: { ...MAY_HAVE_TRIED_BEFORE, ...SAYS_IT_TRIED_ONCE },
  },
  {
    name: '@aws-sdk/client-sqs, one attempt',
    open: overHttp,
    act: sqs({ maxAttempts: 1 }),
    without: PLAIN,
    but: SAYS_IT_TRIED_ONCE,
  },
  { name: 'pg', open: over(postgres), act: pg, without: NO_HTTP },
  { name: 'mysql2', open: over(mysql), act: mysql2, without: NO_HTTP },
  {
    name: 'mongodb',
    open: over(mongo),
    act: mongodb,
    without: NO_HTTP,
    but: { ...MAY_HAVE_TRIED_BEFORE, ...TRIES_WITH_A_KEY },
  },
  {
    // Its first try may have been taken before the second was not let in.
    name: 'mongodb, not let in',
    open: over(mongoThatLetsNobodyIn),
    act: mongodb,
    without: NO_HTTP,
    but: { ...MAY_HAVE_TRIED_BEFORE, refusal: 'leave' },
  },
  { name: 'ioredis', open: over(redis), act: ioredis, without: REPLIES_ALONE, but: DOES_NOT_COUNT_TRIES },
  {
    name: 'ioredis, tried again',
    open: over(redis),
    act: ioredisAgain,
    without: REPLIES_ALONE,
    but: DOES_NOT_COUNT_TRIES,
  },
  { name: 'nodemailer', open: over(smtp), act: nodemailer, without: REPLIES_ALONE },
  // What it says of a connection that it never had, a server may say as well.
  { name: '@grpc/grpc-js', open: openGrpcBank, act: grpc({}), without: NO_402, but: MAY_HAVE_TRIED_BEFORE },
  {
    name: '@grpc/grpc-js, tried again',
    open: openGrpcBank,
    act: grpc(TRIED_AGAIN),
    without: NO_402,
    but: MAY_HAVE_TRIED_BEFORE,
  },
]

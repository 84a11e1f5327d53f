/** Runs a command with `MONGODB_URL`: node scripts/ci/on-mongodb.mjs <program> <arguments …> */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mongodbForTests } from '../mongodb-for-tests.mjs'

const [program = '', ...args] = process.argv.slice(2)
const env = { ...process.env, MONGODB_URL: await mongodbForTests() }
const [code] = await once(spawn(program, args, { env, stdio: 'inherit' }), 'exit')
process.exit(code ?? 1)

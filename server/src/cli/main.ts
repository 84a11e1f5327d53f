#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { EXIT, fail } from './exit.js'
import type { KeysCreateOptions } from './keys.js'

// Each command loads what it needs and no more: a usage error does not wait for the server's modules.
const loadServe = () => import('./serve.js')
const loadBackup = () => import('./backup.js')
const loadClock = () => import('./clock.js')
const loadDoctor = () => import('./doctor/doctor.js')
const loadKeys = () => import('./keys.js')
const loadSigningKeys = () => import('./signing-keys.js')

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const program = new Command('countersign')
  .description('The authorization decision point for AI agents.')
  .version(version)
  .showHelpAfterError()
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage))

program
  .command('serve')
  .description('run the server')
  .option(
    '--accept-loss',
    'start though the store lacks entries that the signing keys remember; the audit log tells of it',
  )
  .action(run(async (options: { readonly acceptLoss?: boolean }) => (await loadServe()).serve(options)))

program
  .command('doctor')
  .description('look for what would keep the server from running well; changes nothing')
  .option('--deep', 'read the whole embedded store, which takes a second for each few hundred MB')
  .action(run(async (options: { readonly deep?: boolean }) => (await loadDoctor()).doctor(options)))

program
  .command('backup <file>')
  .description('copy the embedded store, also of a running server, into a new file')
  .action(run(async (file: string) => (await loadBackup()).backup(file)))
program
  .command('restore <file>')
  .description('put a backup into an empty data directory')
  .action(run(async (file: string) => (await loadBackup()).restore(file)))

program
  .command('clock')
  .description('the clock of the server')
  .command('confirm')
  .description('tell a running server that the system clock, which jumped ahead, is right')
  .action(run(async () => (await loadClock()).clockConfirm()))

const keys = program.command('keys').description('API keys, on the machine of the server')
keys
  .command('create')
  .description('make an API key and print it')
  .option('--name <name>', 'what the key is for', 'made on the command line')
  .option('--scope <scope...>', 'what the key may do', ['*'])
  .option('--agent <pattern...>', 'the agents that the key is bound to')
  .option('--expires <timestamp>', 'when the key ends, such as 2027-01-01T00:00:00.000Z')
  .action(run(async (options: KeysCreateOptions) => (await loadKeys()).keysCreate(options)))

const signingKeys = program.command('signing-keys').description('the keys that sign permits')
signingKeys
  .command('list')
  .description('print the signing keys')
  .action(run(async () => (await loadSigningKeys()).signingKeysList()))
signingKeys
  .command('rotate')
  .description('let the next key sign')
  .option('--force', 'even if verifiers may not know the next key yet')
  .action(run(async (options: { readonly force?: boolean }) => (await loadSigningKeys()).signingKeysRotate(options)))
signingKeys
  .command('revoke <kid>')
  .description('take a key out of the key set')
  // One kid in 64 begins with a hyphen: it is no option.
  .allowUnknownOption()
  .helpOption('--help', 'display help for command')
  .action(run(async (kid: string) => (await loadSigningKeys()).signingKeysRevoke(kid)))

await program.parseAsync()

/** Turns a command's answer into the exit code, and what it throws into a sentence. */
function run<Args extends unknown[]>(command: (...args: Args) => Promise<number>) {
  return async (...args: Args): Promise<void> => {
    try {
      process.exitCode = await command(...args)
    } catch (error) {
      process.exitCode = fail(error as Error, (error as Error).name === 'ConfigError' ? EXIT.config : EXIT.failure)
    }
  }
}

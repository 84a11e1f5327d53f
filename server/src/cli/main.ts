import { Command, Option } from 'commander'
import type { AuditExportOptions } from './audit/export.js'
import type { AuditFollowOptions } from './audit/follow/follow.js'
import type { AuditProveOptions } from './audit/prove.js'
import type { AuditVerifyOptions } from './audit/verify.js'
import { CommandError, EXIT, fail } from './exit.js'
import type { KeysCreateOptions } from './keys.js'
import type { ListenOptions } from './live/listen.js'
import type { TailOptions } from './live/tail.js'
import type { MigrateOptions } from './migrate/migrate.js'
import { VERSION } from './version.js'

const program = new Command('countersign')
  .description('The authorization decision point for AI agents. Without a command, it runs the server.')
  .version(VERSION)
  .showHelpAfterError()
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage))

// Each command loads only the modules that it needs, so a usage error is fast.
program
  .command('serve')
  .description('run the server')
  .option(
    '--accept-loss',
    'start even if the store lost entries that the signing keys remember; the audit log records the loss',
  )
  .action(run(async (options: { readonly acceptLoss?: boolean }) => (await import('./serve.js')).serve(options)))

program
  .command('doctor')
  .description('check everything that the server needs to run; changes nothing')
  .option('--deep', 'read the whole embedded store; takes about a second per few hundred MB')
  .action(run(async (options: { readonly deep?: boolean }) => (await import('./doctor/doctor.js')).doctor(options)))

program
  .command('backup <file>')
  .description('copy the embedded store into a new file, even while the server runs')
  .action(run(async (file: string) => (await import('./backup.js')).backup(file)))
program
  .command('restore <file>')
  .description('restore a backup into an empty data directory')
  .action(run(async (file: string) => (await import('./backup.js')).restore(file)))

program
  .command('migrate')
  .description('move the data of the embedded store in DATA_DIR to MongoDB. The server must not run')
  .option(
    '--to <url>',
    'the database that gets the data, mongodb://…; default: MONGODB_URL, which no process list shows',
  )
  .option('--dry-run', 'read all records and check the database; move nothing')
  .addOption(
    new Option('--undo', 'go back to the embedded store, as long as the move is not complete').conflicts('dryRun'),
  )
  .addHelpText(
    'after',
    `
Example:
  DATA_DIR=/var/lib/countersign MONGODB_URL=mongodb://db1,db2,db3/countersign countersign migrate

If the command is interrupted, run it again: it continues. It compares all records at the end. Afterwards start the
server with the same DATA_DIR, which keeps the signing keys, and with MONGODB_URL.`,
  )
  .action(run(async (options: MigrateOptions) => (await import('./migrate/migrate.js')).migrate(options)))

program
  .command('clock')
  .description('the clock of the server')
  .command('confirm')
  .description('confirm to the running server that the system clock is right although it jumped ahead')
  .action(run(async () => (await import('./clock.js')).clockConfirm()))

const keys = program.command('keys').description('API keys, on the machine of the server')
keys
  .command('create')
  .description('create an API key and print it')
  .option('--name <name>', 'what the key is for', 'made on the command line')
  .option('--scope <scope...>', 'what the key may do', ['*'])
  .option('--agent <pattern...>', 'the agents that the key is bound to')
  .option('--expires <timestamp>', 'when the key ends, such as 2027-01-01T00:00:00.000Z')
  .action(run(async (options: KeysCreateOptions) => (await import('./keys.js')).keysCreate(options)))

const signingKeys = program.command('signing-keys').description('the keys that sign permits')
signingKeys
  .command('list')
  .description('print the signing keys')
  .action(run(async () => (await import('./signing-keys.js')).signingKeysList()))
signingKeys
  .command('rotate')
  .description('sign with the next key from now on')
  .option('--force', 'rotate even if verifiers may not know the next key yet')
  .action(
    run(async (options: { readonly force?: boolean }) =>
      (await import('./signing-keys.js')).signingKeysRotate(options),
    ),
  )
signingKeys
  .command('revoke <kid>')
  .description('remove a key from the key set, so that its permits no longer verify')
  // One kid in 64 begins with a hyphen. It is not an option.
  .allowUnknownOption()
  .helpOption('--help', 'display help for command')
  .action(run(async (kid: string) => (await import('./signing-keys.js')).signingKeysRevoke(kid)))

const URL_HELP = 'the server; default: COUNTERSIGN_URL or http://127.0.0.1:8787'
program
  .command('tail')
  .description('print the changes of decisions as they happen. Needs COUNTERSIGN_API_KEY')
  .option('--agent <id>', 'only decisions of this agent')
  .option('--action <action>', 'only decisions about this action')
  .option('--resource <resource>', 'only decisions about this resource')
  .option('--effect <effect>', 'only decisions of this effect: allow, deny, review or log')
  .option('--status <status>', 'only changes to this status, such as awaiting_review')
  .option('--policy <id>', 'only decisions by this policy')
  .option('--request-hash <hash>', 'only decisions about this request')
  .option('--type <types>', 'only changes of these types, such as decision.created,decision.approved')
  .option('--json', 'print each event as one line of JSON')
  .option('--url <url>', URL_HELP)
  .action(run(async (options: TailOptions) => (await import('./live/tail.js')).tail(options)))

program
  .command('listen')
  .description('send events about decisions to a program, as webhooks do. Needs COUNTERSIGN_API_KEY')
  .requiredOption('--forward-to <url>', 'the program, such as http://127.0.0.1:3000/webhooks')
  .option('--events <types>', 'only events of these types; default: all of decision.*')
  .option('--secret <secret>', 'signs the deliveries, whsec_…; default: a new secret')
  .option('--url <url>', URL_HELP)
  .action(run(async (options: ListenOptions) => (await import('./live/listen.js')).listen(options)))

/** An option that may be repeated. An option that takes several values would also consume the argument after it. */
const collected = (value: string, earlier: readonly string[] = []) => [...earlier, value]
const audit = program.command('audit').description('export the audit log, and verify that it was not altered')
audit
  .command('export')
  .description(
    'write all audit logs with their checkpoints to a file. Needs COUNTERSIGN_API_KEY, except with --offline',
  )
  .option('--out <file>', 'the file, which appears when it is complete; default: standard output')
  .option('--offline', 'read the data of the server on this machine instead; an embedded server must not run')
  .option(
    '--witness <file|url>',
    'save the newest checkpoint to a file, or send it to a witness (C2SP); repeatable',
    collected,
  )
  .option('--witness-key <key>', 'the key of a witness at a URL, <name>+<id>+<base64>; repeatable', collected)
  .option('--checkpoint-only', 'only save or send the checkpoint; export nothing')
  .option('--url <url>', URL_HELP)
  .action(run(async (options: AuditExportOptions) => (await import('./audit/export.js')).auditExport(options)))
audit
  .command('follow')
  .description(
    'print the entries of the audit log, oldest first, and those that come later, one a line. Needs COUNTERSIGN_API_KEY',
  )
  .option('--format <format>', 'json, ocsf or cef', 'json')
  .option('--position <file>', 'remembers how far the output is, so that the next run continues there')
  .option('--from <start|now>', 'where to begin when the position file does not exist yet', 'start')
  .option('--once', 'end when all entries up to the start are out, instead of waiting for more')
  .option('--type <type>', 'only entries of this type, such as key.created')
  .option('--agent <id>', 'only entries about this agent')
  .option('--url <url>', URL_HELP)
  .addHelpText(
    'after',
    `
Each entry comes at least once, and in order per log. An entry that comes again has the same id.

Example:
  countersign audit follow --format ocsf --position /var/lib/siem/position.json >> /var/log/siem/audit.ndjson`,
  )
  .action(run(async (options: AuditFollowOptions) => (await import('./audit/follow/follow.js')).auditFollow(options)))
audit
  .command('verify [export]')
  .description(
    'verify an export (- for standard input), a proof, that a checkpoint continues from an earlier one, or with --records ' +
      'that the stored records match the log. Only --records may need a server. Exit code: 0 intact, 2 tampered with, 3 incomplete',
  )
  .requiredOption(
    '--jwks <file|url>',
    'the public keys of the server, from /.well-known/jwks.json; repeatable',
    collected,
  )
  .option('--kept <file>', 'checkpoints that a third party has kept, as --witness writes them; repeatable', collected)
  .option(
    '--witness-key <key>',
    'each kept checkpoint must be signed by this key or another --witness-key; repeatable',
    collected,
  )
  .option(
    '--budgets <file>',
    'a response of /v1/budgets, or of the history of a budget, to compare with the log; repeatable',
    collected,
  )
  .option('--proof <file>', 'a proof, as `prove` writes it; with --from the response of /v1/audit/consistency')
  .option('--permit <file>', 'a permit (- for standard input) that --proof must prove')
  .option('--from <file>', 'the earlier checkpoint')
  .option('--to <file>', 'the later checkpoint; default: that of --proof')
  .option('--records', 'verify the log of a server, and compare its records with it. Needs COUNTERSIGN_API_KEY')
  .option('--offline', 'with --records: read the data of the server on this machine instead')
  .option('--backup <file>', 'with --records: read a backup of the embedded store instead')
  .option('--url <url>', `with --records: ${URL_HELP}`)
  .option('--json', 'print the result as one line of JSON')
  .action(
    run(async (file: string | undefined, options: AuditVerifyOptions) =>
      (await import('./audit/verify.js')).auditVerify(file, options),
    ),
  )
audit
  .command('accept-rewrite')
  .description(
    'let the server sign the audit log as it is in the store, although it does not continue from what it signed',
  )
  .action(run(async () => (await import('./audit/accept-rewrite.js')).auditAcceptRewrite()))
audit
  .command('prove <decision>')
  .description('write the proof of a decision, named by its id or by a file with its permit. Needs COUNTERSIGN_API_KEY')
  .option('--out <file>', 'the file; default: standard output')
  .option('--export <file>', 'create the proof from an export, without a server')
  .option('--url <url>', URL_HELP)
  .action(
    run(async (decision: string, options: AuditProveOptions) =>
      (await import('./audit/prove.js')).auditProve(decision, options),
    ),
  )

const [node = '', script = '', ...words] = process.argv
await program.parseAsync([node, script, ...(words.length === 0 ? ['serve'] : words)])

/** Sets the exit code from a command's result, and reports what it throws. */
function run<Args extends unknown[]>(command: (...args: Args) => Promise<number>) {
  return async (...args: Args): Promise<void> => {
    try {
      process.exitCode = await command(...args)
    } catch (error) {
      process.exitCode = fail(error as Error, exitCodeOf(error as Error))
    }
  }
}

function exitCodeOf(error: Error): number {
  if (error instanceof CommandError) return error.exitCode
  return error.name === 'ConfigError' ? EXIT.config : EXIT.failure
}

/** What a store asks of MongoDB, from the commands that the driver of this process sends. */
import { type CommandStartedEvent, type Document, MongoClient } from 'mongodb'

/** By the names of the rows in docs/storage.md. */
export interface Asked {
  readonly Commands: Set<string>
  readonly 'Options of commands': Set<string>
  readonly 'Query operators': Set<string>
  readonly 'Update operators': Set<string>
  readonly 'Aggregation stages': Set<string>
  readonly 'Options of indexes': Set<string>
}

/** What the driver sends of itself: the end of its sessions, and whether an answer that comes in parts goes on. */
const COMMANDS_OF_THE_DRIVER = ['endSessions', 'getMore']
/** The driver adds these for servers that know them. */
const OF_THE_DRIVER = ['$db', '$clusterTime', '$readPreference', 'lsid', 'txnNumber']

/** Notes each command that a client of this process sends from now on. */
export function noteCommands(): Asked {
  const asked: Asked = {
    Commands: new Set(),
    'Options of commands': new Set(),
    'Query operators': new Set(),
    'Update operators': new Set(),
    'Aggregation stages': new Set(),
    'Options of indexes': new Set(),
  }
  const { connect } = MongoClient.prototype
  MongoClient.prototype.connect = function (this: MongoClient) {
    // Those of tests ask for more.
    if (this.options.appName?.startsWith('countersign')) {
      this.options.monitorCommands = true
      this.on('commandStarted', (event) => note(asked, event))
    }
    return connect.call(this)
  }
  return asked
}

function note(asked: Asked, { commandName, command }: CommandStartedEvent): void {
  if (COMMANDS_OF_THE_DRIVER.includes(commandName)) return
  asked.Commands.add(commandName)
  const parts: Document[] = [...(command.updates ?? []), ...(command.deletes ?? [])]
  for (const name of [command, ...parts].flatMap(Object.keys))
    if (name !== commandName && !OF_THE_DRIVER.includes(name)) asked['Options of commands'].add(name)
  for (const { q, u } of parts) {
    noteOperators(asked['Query operators'], q)
    for (const operator of Object.keys(u ?? {})) if (operator.startsWith('$')) asked['Update operators'].add(operator)
  }
  noteOperators(asked['Query operators'], command.filter ?? {})
  for (const stage of command.pipeline ?? [])
    for (const [name, content] of Object.entries(stage)) {
      asked['Aggregation stages'].add(name)
      if (name === '$match') noteOperators(asked['Query operators'], content as Document)
    }
  for (const index of command.indexes ?? [])
    for (const option of Object.keys(index))
      if (option !== 'key' && option !== 'name') asked['Options of indexes'].add(option)
}

/** Members that begin so, wherever they are: no text of a user is a name. */
function noteOperators(into: Set<string>, filter: unknown): void {
  if (typeof filter !== 'object' || filter === null) return
  for (const [name, value] of Object.entries(filter)) {
    if (name.startsWith('$')) into.add(name)
    noteOperators(into, value)
  }
}

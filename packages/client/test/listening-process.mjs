// Listens to live events and has nothing else to do: it must live as long as somebody waits for an event, and end then.
import { Countersign } from '@countersign/client'

const [how] = process.argv.slice(2)
const client = new Countersign()
const stream = client.events()
for (let count = 0; count < 2; count += 1) {
  const { value } = await stream.next()
  console.log(value.id)
}
if (how === 'break') await stream.return()
if (how === 'signal') {
  const controller = new AbortController()
  const next = client.events({ signal: controller.signal }).next()
  controller.abort()
  console.log((await next).done)
}
// `forgotten`: nobody ends it, and nobody waits for another event.

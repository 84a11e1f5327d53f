/** A job that resumes an approved action behind a guard, as its own holder, once told to; says what came of it. */
import { Countersign } from '@countersign/client'

const [url, key, request] = process.argv.slice(2)
const client = new Countersign({ baseUrl: url, apiKey: key })
process.send('ready')
process.once('message', async () => {
  const options = { review: 'wait', holder: `process-${process.pid}`, idempotencyKey: 'the-one-job', timeoutMs: 20_000 }
  let runs = 0
  const outcome = await client
    .guard(
      JSON.parse(request),
      () => {
        runs += 1
        return 'ran'
      },
      options,
    )
    .catch(({ name, reason }) => `${name} ${reason}`)
  process.send({ outcome, runs }, () => process.disconnect())
})

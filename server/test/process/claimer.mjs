/** A job that resumes an approved decision: claims it as its own holder once told to, and says what it was answered. */
const [url, key, id] = process.argv.slice(2)
process.send('ready')
process.once('message', async () => {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
  const body = JSON.stringify({ holder: `process-${process.pid}` })
  const answer = await fetch(`${url}/v1/decisions/${id}/claim`, { method: 'POST', headers, body })
  const { code, permit_token } = await answer.json()
  process.send({ status: answer.status, code, runs: permit_token !== undefined }, () => process.disconnect())
})

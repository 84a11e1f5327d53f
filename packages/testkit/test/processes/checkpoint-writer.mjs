/** Puts one checkpoint after another into CHECKPOINTS, and tells its parent of each that was kept, until it is killed. */
import { FileCheckpointSaver } from '@countersign/testkit/file-checkpoint-saver'
import { emptyCheckpoint } from '@langchain/langgraph-checkpoint'

const saver = new FileCheckpointSaver(process.env.CHECKPOINTS)
process.once('disconnect', () => process.exit())
for (let step = 0; ; step += 1) {
  const id = String(step).padStart(8, '0')
  await saver.put(
    { configurable: { thread_id: 'a' } },
    { ...emptyCheckpoint(), id },
    { source: 'loop', step, parents: {} },
    {},
  )
  await new Promise((resolve) => process.send(step, resolve))
}

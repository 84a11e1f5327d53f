/**
 * One graph of two nodes that run at the same time: `books` adds a line to LEDGER, `asks` interrupts itself. The environment
 * names the file of the checkpoints and the THREAD. Without ANSWER it starts the thread, and waits to be killed; with one it
 * resumes the thread and ends. Tells its parent the state.
 */
import { appendFileSync } from 'node:fs'
import { FileCheckpointSaver } from '@countersign/testkit/file-checkpoint-saver'
import { Annotation, Command, END, interrupt, START, StateGraph } from '@langchain/langgraph'

const { CHECKPOINTS, LEDGER, THREAD, ANSWER } = process.env
const State = Annotation.Root({ said: Annotation({ reducer: (before, said) => [...before, said], default: () => [] }) })

const graph = new StateGraph(State)
  .addNode('books', () => {
    appendFileSync(LEDGER, `${THREAD}\n`)
    return { said: 'booked' }
  })
  .addNode('asks', () => ({ said: interrupt('may I?') }))
  .addEdge(START, 'books')
  .addEdge(START, 'asks')
  .addEdge('books', END)
  .addEdge('asks', END)
  .compile({ checkpointer: new FileCheckpointSaver(CHECKPOINTS) })

const config = { configurable: { thread_id: THREAD } }
await graph.invoke(ANSWER === undefined ? {} : new Command({ resume: ANSWER }), config)
const { values, next } = await graph.getState(config)
process.send({ said: values.said, next })
process.once('disconnect', () => process.exit())
if (ANSWER !== undefined) process.disconnect()

BEGIN TRANSACTION;
CREATE TABLE toolwright_events (
	session_key INTEGER NOT NULL, 
	seq INTEGER NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (session_key, seq), 
	FOREIGN KEY(session_key) REFERENCES toolwright_sessions ("key") ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "toolwright_events" VALUES(1,1,'{"v":1,"seq":1,"run_id":"d84927aeb67343a0a84cd8e5b14004c9","agent":"a","path":"","at":1794814310.6502085,"message":{"parts":[{"text":"ask","kind":"text"}],"kind":"user"},"type":"run_started"}');
INSERT INTO "toolwright_events" VALUES(1,2,'{"v":1,"seq":2,"run_id":"d84927aeb67343a0a84cd8e5b14004c9","agent":"a","path":"","at":1794814310.6502485,"delta":{"n":1},"type":"state_changed"}');
INSERT INTO "toolwright_events" VALUES(1,3,'{"v":1,"seq":3,"run_id":"d84927aeb67343a0a84cd8e5b14004c9","agent":"a","path":"","at":1794814310.6862137,"turn":1,"type":"turn_started"}');
INSERT INTO "toolwright_events" VALUES(1,4,'{"v":1,"seq":4,"run_id":"d84927aeb67343a0a84cd8e5b14004c9","agent":"a","path":"","at":1794814310.6863554,"message":{"parts":[{"call_id":"c1","name":"ask","arguments":"{}","meta":{},"kind":"call"}],"usage":{"input_tokens":0,"output_tokens":0,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"cost":0.0,"requests":0},"model":"","finish_reason":"calls","meta":{},"kind":"model"},"type":"model_replied"}');
INSERT INTO "toolwright_events" VALUES(1,5,'{"v":1,"seq":5,"run_id":"d84927aeb67343a0a84cd8e5b14004c9","agent":"a","path":"","at":1794814310.6895003,"call":{"call_id":"c1","name":"ask","arguments":"{}","meta":{},"kind":"call"},"type":"tool_started"}');
INSERT INTO "toolwright_events" VALUES(1,6,'{"v":1,"seq":6,"run_id":"d84927aeb67343a0a84cd8e5b14004c9","agent":"a","path":"","at":1794814310.697139,"pending":{"call_id":"c1","name":"ask","kind":"result","hint":"","arguments":{},"agent":"a","blocking":true},"type":"pending_opened"}');
INSERT INTO "toolwright_events" VALUES(1,7,'{"v":1,"seq":7,"run_id":"d84927aeb67343a0a84cd8e5b14004c9","agent":"a","path":"","at":1794814310.7070718,"status":"paused","text":"","reason":"","usage":{"input_tokens":0,"output_tokens":0,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"cost":0.0,"requests":0},"escalated":false,"type":"run_ended"}');
INSERT INTO "toolwright_events" VALUES(2,1,'{"v":1,"seq":1,"run_id":"f0e4478a80d04172981f1f21288a1a67","agent":"a","path":"","at":1794814310.672088,"message":{"parts":[{"text":"plain","kind":"text"}],"kind":"user"},"type":"run_started"}');
INSERT INTO "toolwright_events" VALUES(2,2,'{"v":1,"seq":2,"run_id":"f0e4478a80d04172981f1f21288a1a67","agent":"a","path":"","at":1794814310.6721206,"delta":{"n":1},"type":"state_changed"}');
INSERT INTO "toolwright_events" VALUES(2,3,'{"v":1,"seq":3,"run_id":"f0e4478a80d04172981f1f21288a1a67","agent":"a","path":"","at":1794814310.688488,"turn":1,"type":"turn_started"}');
INSERT INTO "toolwright_events" VALUES(2,4,'{"v":1,"seq":4,"run_id":"f0e4478a80d04172981f1f21288a1a67","agent":"a","path":"","at":1794814310.6890974,"message":{"parts":[{"text":"done","kind":"text"}],"usage":{"input_tokens":0,"output_tokens":0,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"cost":0.0,"requests":0},"model":"","finish_reason":"stop","meta":{},"kind":"model"},"type":"model_replied"}');
INSERT INTO "toolwright_events" VALUES(2,5,'{"v":1,"seq":5,"run_id":"f0e4478a80d04172981f1f21288a1a67","agent":"a","path":"","at":1794814310.689127,"status":"done","text":"done","reason":"","usage":{"input_tokens":0,"output_tokens":0,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"cost":0.0,"requests":0},"escalated":false,"type":"run_ended"}');
INSERT INTO "toolwright_events" VALUES(3,1,'{"v":1,"seq":1,"run_id":"fd76d6f979504905a6c583e492276b92","agent":"a","path":"","at":1794814310.6741595,"message":{"parts":[{"text":"fail","kind":"text"}],"kind":"user"},"type":"run_started"}');
INSERT INTO "toolwright_events" VALUES(3,2,'{"v":1,"seq":2,"run_id":"fd76d6f979504905a6c583e492276b92","agent":"a","path":"","at":1794814310.6741757,"delta":{"n":1},"type":"state_changed"}');
INSERT INTO "toolwright_events" VALUES(3,3,'{"v":1,"seq":3,"run_id":"fd76d6f979504905a6c583e492276b92","agent":"a","path":"","at":1794814310.689304,"turn":1,"type":"turn_started"}');
INSERT INTO "toolwright_events" VALUES(3,4,'{"v":1,"seq":4,"run_id":"fd76d6f979504905a6c583e492276b92","agent":"a","path":"","at":1794814310.6893601,"status":"stopped","text":"","reason":"RuntimeError: no luck","usage":{"input_tokens":0,"output_tokens":0,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"cost":0.0,"requests":0},"escalated":false,"type":"run_ended"}');
CREATE TABLE toolwright_pending (
	session_key INTEGER NOT NULL, 
	call_id TEXT NOT NULL, 
	body TEXT NOT NULL, 
	deadline FLOAT, 
	answered_at FLOAT, 
	answer TEXT, 
	closed BOOLEAN NOT NULL, 
	PRIMARY KEY (session_key, call_id), 
	FOREIGN KEY(session_key) REFERENCES toolwright_sessions ("key") ON DELETE CASCADE
);
INSERT INTO "toolwright_pending" VALUES(1,'c1','{"call_id":"c1","name":"ask","kind":"result","hint":"","payload":null,"arguments":{},"schema":null,"deadline":null,"agent":"a","blocking":true}',NULL,NULL,NULL,0);
CREATE TABLE toolwright_schema (
	component TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (component)
);
INSERT INTO "toolwright_schema" VALUES('sessions',1);
INSERT INTO "toolwright_schema" VALUES('tasks',1);
CREATE TABLE toolwright_sessions (
	"key" INTEGER NOT NULL, 
	app_name TEXT NOT NULL, 
	session_id TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	created_at FLOAT NOT NULL, 
	updated_at FLOAT NOT NULL, 
	last_seq INTEGER NOT NULL, 
	title TEXT NOT NULL, 
	PRIMARY KEY ("key"), 
	UNIQUE (app_name, session_id)
);
INSERT INTO "toolwright_sessions" VALUES(1,'tasks','8e4bcf5cd7f5465fa23db1f46be0a18d','ada',1.79481431062727069857e+09,1.79481431070709443096e+09,7,'ask');
INSERT INTO "toolwright_sessions" VALUES(2,'tasks','efdc592f65f9411c9570387d18f7b771','ada',1.79481431062776064866e+09,1.7948143106891567707e+09,5,'plain');
INSERT INTO "toolwright_sessions" VALUES(3,'tasks','1364d6fa1d8c4a83abfa6b04ec2cdc42','ada',1.79481431062781524661e+09,1.7948143106893777848e+09,4,'fail');
CREATE TABLE toolwright_state (
	app_name TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	session_id TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	value TEXT, 
	PRIMARY KEY (app_name, user_id, session_id, "key")
)
 WITHOUT ROWID

;
INSERT INTO "toolwright_state" VALUES('tasks','ada','1364d6fa1d8c4a83abfa6b04ec2cdc42','n','1');
INSERT INTO "toolwright_state" VALUES('tasks','ada','8e4bcf5cd7f5465fa23db1f46be0a18d','n','1');
INSERT INTO "toolwright_state" VALUES('tasks','ada','efdc592f65f9411c9570387d18f7b771','n','1');
CREATE TABLE toolwright_task_inbox (
	id INTEGER NOT NULL, 
	task_id TEXT NOT NULL, 
	message TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "toolwright_task_inbox" VALUES(1,'fc3450db352c4d3db2b306befaf5adde','{"v":1,"parts":[{"text":"be quick","kind":"text"}],"kind":"user"}');
CREATE TABLE toolwright_task_prompts (
	task_id TEXT NOT NULL, 
	prompt TEXT NOT NULL, 
	state TEXT NOT NULL, 
	PRIMARY KEY (task_id)
);
INSERT INTO "toolwright_task_prompts" VALUES('8e4bcf5cd7f5465fa23db1f46be0a18d','{"v":1,"parts":[{"text":"ask","kind":"text"}],"kind":"user"}','{"n": 1}');
INSERT INTO "toolwright_task_prompts" VALUES('efdc592f65f9411c9570387d18f7b771','{"v":1,"parts":[{"text":"plain","kind":"text"}],"kind":"user"}','{"n": 1}');
INSERT INTO "toolwright_task_prompts" VALUES('1364d6fa1d8c4a83abfa6b04ec2cdc42','{"v":1,"parts":[{"text":"fail","kind":"text"}],"kind":"user"}','{"n": 1}');
INSERT INTO "toolwright_task_prompts" VALUES('fc3450db352c4d3db2b306befaf5adde','{"v":1,"parts":[{"text":"queued","kind":"text"}],"kind":"user"}','{}');
CREATE TABLE toolwright_tasks (
	id TEXT NOT NULL, 
	agent TEXT NOT NULL, 
	owner_id TEXT NOT NULL, 
	status TEXT NOT NULL, 
	priority INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	start_at FLOAT NOT NULL, 
	started_at FLOAT, 
	created_at FLOAT NOT NULL, 
	updated_at FLOAT NOT NULL, 
	attempts INTEGER NOT NULL, 
	retries INTEGER NOT NULL, 
	failures INTEGER NOT NULL, 
	worker TEXT, 
	cancel BOOLEAN NOT NULL, 
	text TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	version TEXT NOT NULL, 
	idempotency_key TEXT, 
	parent_id TEXT, 
	parent_call TEXT, 
	wake_at FLOAT, 
	PRIMARY KEY (id), 
	UNIQUE (idempotency_key)
);
INSERT INTO "toolwright_tasks" VALUES('8e4bcf5cd7f5465fa23db1f46be0a18d','a','ada','PENDING_TOOL_RESULTS',0,1,1.7948143105892660618e+09,1.79481431062560129168e+09,1.7948143105892660618e+09,1.79481431070794487003e+09,1,0,0,NULL,0,'','','1','ask',NULL,NULL,NULL);
INSERT INTO "toolwright_tasks" VALUES('efdc592f65f9411c9570387d18f7b771','a','ada','COMPLETED',0,2,1.79481431060614728925e+09,1.79481431062560129168e+09,1.79481431060614728925e+09,1.79481431069271016127e+09,1,0,0,NULL,0,'done','','1','plain',NULL,NULL,NULL);
INSERT INTO "toolwright_tasks" VALUES('1364d6fa1d8c4a83abfa6b04ec2cdc42','a','ada','FAILED',0,3,1.79481431061022663115e+09,1.79481431062560129168e+09,1.79481431061022663115e+09,1.79481431069360709189e+09,1,0,1,NULL,0,'','RuntimeError: no luck','1','fail',NULL,NULL,NULL);
INSERT INTO "toolwright_tasks" VALUES('fc3450db352c4d3db2b306befaf5adde','a','bob','QUEUED',3,1,1.7948143107110438347e+09,NULL,1.7948143107110438347e+09,1.7948143107110438347e+09,0,0,0,NULL,0,'','','',NULL,NULL,NULL,NULL);
CREATE TABLE toolwright_workers (
	name TEXT NOT NULL, 
	machine TEXT NOT NULL, 
	pid INTEGER NOT NULL, 
	lease FLOAT NOT NULL, 
	beat INTEGER NOT NULL, 
	PRIMARY KEY (name)
);
CREATE INDEX toolwright_sessions_latest ON toolwright_sessions (app_name, user_id, updated_at);
CREATE INDEX toolwright_pending_open ON toolwright_pending (closed, session_key);
CREATE INDEX toolwright_tasks_line ON toolwright_tasks (agent, priority DESC, place) WHERE status = 'QUEUED';
CREATE INDEX toolwright_tasks_deadlines ON toolwright_tasks (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX toolwright_tasks_held ON toolwright_tasks (worker) WHERE status = 'ACTIVE';
CREATE INDEX toolwright_tasks_latest ON toolwright_tasks (created_at);
CREATE INDEX toolwright_tasks_family ON toolwright_tasks (parent_id, parent_call) WHERE parent_id IS NOT NULL;
CREATE INDEX toolwright_tasks_recent ON toolwright_tasks (agent, started_at);
CREATE INDEX toolwright_tasks_starts ON toolwright_tasks (start_at) WHERE status = 'QUEUED';
CREATE INDEX toolwright_tasks_turns ON toolwright_tasks (agent, priority, owner_id, place) WHERE status = 'QUEUED';
CREATE INDEX ix_toolwright_task_inbox_task_id ON toolwright_task_inbox (task_id);
COMMIT;

"""In the style of nanoGPT: global variables that words such as --dropout=0.1 override, if their type stays."""
from training import Training

out_dir = 'out'
eval_interval = 250
log_interval = 10
eval_iters = 200
eval_only = False # if True, the script exits right after the first evaluation
always_save_checkpoint = True
init_from = 'scratch'
wandb_log = False
wandb_project = 'owt'
dataset = 'shakespeare_char'
gradient_accumulation_steps = 1
batch_size = 12 # the micro-batch size
block_size = 64
n_layer = 4
n_head = 4
n_embd = 128
dropout = 0.0 # for pretraining 0 is good, for finetuning try 0.1+
bias = False
learning_rate = 1e-3 # max learning rate
max_iters = 2000 # total number of training iterations
weight_decay = 1e-1
beta1 = 0.9
beta2 = 0.95
grad_clip = 1.0 # clip gradients at this value
decay_lr = True
warmup_iters = 100
lr_decay_iters = 2000
min_lr = 1e-4
device = 'cpu'
dtype = 'float32'
compile = False
config_keys = [k for k, v in globals().items() if not k.startswith('_') and isinstance(v, (int, float, bool, str))]
exec(open('configurator.py').read()) # overrides from the command line
assert n_embd % n_head == 0
rounds = max_iters // eval_interval
training = Training(rounds, learning_rate, 3e-3, eval_interval, dropout=dropout, n_layer=n_layer, out_dir=out_dir)
for iteration in range(0, max_iters + 1, eval_interval):
    loss = 4.2 if iteration == 0 else 4.2 - 3 * training.epoch()
    print(f"step {iteration}: train loss {loss - 0.1:.4f}, val loss {loss:.4f}")
    for iter_num in (iteration, iteration + 100):
        print(f"iter {iter_num}: loss {loss + 0.05:.4f}, time 21.50ms, mfu 1.00%", flush=True)

import argparse
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.001); p.add_argument("--steps", type=int, default=512); a = p.parse_args()
class Truth(BaseCallback):
    def _on_step(self): return True
    def _on_rollout_end(self):
        if self.n_calls: self.pending = True
model = PPO("MlpPolicy", "CartPole-v1", learning_rate=a.lr, n_steps=128, seed=0, verbose=0, device="cpu")
class Logged(Truth):
    def _on_training_start(self):
        logger, dump = self.logger, self.logger.dump
        def told(step=0): truth(step=step, v=float(logger.name_to_value["rollout/ep_rew_mean"])); dump(step)
        logger.dump = told
model.learn(a.steps, callback=Logged())

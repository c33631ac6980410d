# A training in a shell: sh plain.sh --lr 0.01
lr=0.01
while [ $# -gt 0 ]; do
  case $1 in --lr) lr=$2; shift ;; --help) echo "usage: plain.sh [--lr LR]"; echo "  --lr LR   rate (default: 0.01)"; exit 0 ;; esac
  shift
done
epoch=1
while [ $epoch -le 6 ]; do
  sleep 0.01
  awk -v lr="$lr" -v t=$epoch 'BEGIN { d = log(lr) / log(10) + 2; if (d < 0) d = -d; printf "epoch %d/6 acc=%.4f\n", t, (0.9 - 0.1 * d) * (1 - exp(-t / 2)) }'
  epoch=$((epoch + 1))
done

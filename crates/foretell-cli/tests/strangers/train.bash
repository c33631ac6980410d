# A program in bash: bash train.bash 0.01
for epoch in 1 2 3 4 5 6 7 8; do
    value=$(awk -v lr="$1" -v e="$epoch" 'BEGIN { d = log(lr) / log(10) + 2; if (d < 0) d = -d; printf "%.4f", (0.9 - 0.15 * d) * (1 - 0.5 ^ e) }')
    echo "$value" >> "counted-$FORETELL_TRIAL"
    echo "[$epoch/8] acc: $value"
    sleep 0.05
done

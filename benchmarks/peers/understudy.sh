understudy domain draft train.csv --out mine.json
understudy domain confirm mine.json --accept all --privacy-unit none
understudy dummy --domain mine.json --rows 1000 --out fakes.csv
understudy publish train.csv --domain mine.json --epsilon 1 --delta 1e-6 --out published || test $? = 3  # 3: published, with a warning
cp published/synthetic.csv synthetic.csv
